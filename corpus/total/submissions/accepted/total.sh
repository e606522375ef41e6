read -r n
sum=0
for ((i = 0; i < n; i++)); do
    read -r x
    sum=$((sum + x))
done
echo "$sum"
