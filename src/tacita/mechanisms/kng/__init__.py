"""Private quantiles and quantile regression by the K-norm gradient mechanism (tran2023), drawn exactly."""
