"""Jobs on the machines of a Ray cluster; Ray is imported only when a cluster is asked for."""
