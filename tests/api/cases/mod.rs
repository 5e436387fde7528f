//! Inputs of the real world: tables of one family each, with the right answer.

mod sign_in;
