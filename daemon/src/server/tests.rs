//! What the server does by itself; the routes are called by the tests of the whole.
