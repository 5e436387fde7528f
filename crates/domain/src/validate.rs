//! Field rules of the wire. Filled by entity below.
