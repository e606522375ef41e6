printf 'Hello, %s!\n' World
