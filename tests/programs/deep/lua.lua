-- The language's own limit is a million values on its stack.
local function depth(n) return n == 0 and 0 or 1 + depth(n - 1) end
print(depth(100000))
