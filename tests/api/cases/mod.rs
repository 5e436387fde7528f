//! Inputs of the real world: tables of one family each, with the right answer.

mod alerts;
mod documents;
mod sign_in;
