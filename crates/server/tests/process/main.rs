//! The program itself: command line, first start, the README's tour, what survives a kill.

mod cli;
mod program;
mod survival;
mod tour;
