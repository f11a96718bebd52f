"""Mechanisms of tran2023, as printed and drawn honestly: plain, stepwise and sandwich KNG. The proof is `kng.md`."""
