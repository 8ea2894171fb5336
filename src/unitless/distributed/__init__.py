"""Training by several threads or machines: the data is cut into tasks, and an engine that exists already runs them."""
