"""Taggers built on taggers: pools, cross-validated columns, rerankers."""
