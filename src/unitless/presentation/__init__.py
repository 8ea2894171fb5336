"""How results are shown: as text, in notebooks, on pages, as JSON. Nothing is computed here."""
