"""Noisy tables of several levels that agree: every sum equals its parts, with the variance of each cell afterwards.

`trees` is for levels that nest, `crossed` for levels of several columns, `overlapping` for any tables of the same
cells; `whole` makes whole numbers of them that are not negative, and `division` divides a budget over what will agree.
All of it is arithmetic on public layouts and released values: nothing in here can reach confidential rows.
"""
