"""Domain rules: one module per resource; transactions and generation checks live here.

`by_name` and `links` are what several of them share, `fit` and `provider_search` parts of `allocation` and of
`resource_provider`.
"""
