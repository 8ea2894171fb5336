"""From data to models: one, several compared, or one for each learning rate; runs that can be continued."""
