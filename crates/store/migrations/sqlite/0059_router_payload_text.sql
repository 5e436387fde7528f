-- PostgreSQL keeps the router's records as text from here on, as this engine does.
SELECT 1;
