word=xxxxxxxxxxxxxxxx
while :; do word=$word$word; done
