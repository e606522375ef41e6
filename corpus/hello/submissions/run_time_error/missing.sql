SELECT 'Hello, World!';
SELECT greeting FROM nowhere;
