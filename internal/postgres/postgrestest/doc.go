// Package postgrestest gives every test a PostgreSQL database of its own, with our schema in it and nothing else.
//
// The first [New] of a test binary starts one server and migrates one template database; every database is a copy of it. The
// server ends with the binary, however that ends, and is not fit for tests of durability: it runs without fsync. A test that
// kills, reloads or fills a server takes [NewServer]; one that loses the answer to a COMMIT puts a [Proxy] in between.
//
// With SETTLEMENTD_TEST_ICU=1 every server collates by ICU (en-US), so that an order that should be of bytes and is not shows.
package postgrestest
