"""Models that others have trained, as models of ours.

vw_readable     the text that Vowpal Wabbit writes of a model
vw_hash         where Vowpal Wabbit keeps a feature
vw_model        from_vw
"""
