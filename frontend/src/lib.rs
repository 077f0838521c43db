//! frontend.
