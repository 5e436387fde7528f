-- PostgreSQL gets indexes of trigrams here. One file on one machine is searched fast enough without.
SELECT 1;
