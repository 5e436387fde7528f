//! Shapes of the wire: requests and answers as contract 01–04 write them. They never reach the use cases.

pub mod organizations;
pub mod session;
pub mod users;
