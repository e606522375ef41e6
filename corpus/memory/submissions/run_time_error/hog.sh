read -r n
piece=$(printf 'x%.0s' {1..65536})
memory=()
for ((i = 0; i < 16 * n; i++)); do
    memory+=("$piece$i")
done
echo "$n"
