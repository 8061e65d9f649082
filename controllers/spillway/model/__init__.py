"""StreamJob and everything it is made of: values, fields, the topology, conditions, and the CRDs made from them."""
