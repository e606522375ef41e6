SELECT 'Hello, ' || upper('mars') || '!';
