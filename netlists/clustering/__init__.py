"""Standard cells into soft macros: a flat design in, a clustered one out."""

from netlists.clustering.cluster import Clustering, ClusterOptions, cluster

__all__ = ["ClusterOptions", "Clustering", "cluster"]
