//! Layers of alert configuration: what is stored, what is in force for whom, and when that changes.

mod merged;
