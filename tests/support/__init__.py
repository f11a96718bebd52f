"""What tests share: small files and plans of every kind, laws written by hand, checks and fakes. No tests."""
