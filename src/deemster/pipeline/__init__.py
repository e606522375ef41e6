"""The stages of a submission, one package each; only `work` joins them."""
