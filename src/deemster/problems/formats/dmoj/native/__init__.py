"""Programs that are copied into DMOJ packages; Deemster itself never imports them."""
