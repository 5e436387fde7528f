//! Inputs of the real world: tables of one family each, with the right answer.

mod alerts;
mod documents;
mod people;
mod sign_in;
