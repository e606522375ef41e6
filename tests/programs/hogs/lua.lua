local all = {}
while true do
    local part = {}
    for i = 1, 1000 do part[i] = i end
    all[#all + 1] = part
end
