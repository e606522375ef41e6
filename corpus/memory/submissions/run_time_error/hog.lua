local n = io.read("n")
local memory = {}
for i = 1, n do
    memory[i] = string.rep("x", 1 << 20) .. i
end
print(#memory)
