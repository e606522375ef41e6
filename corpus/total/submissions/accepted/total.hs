main :: IO ()
main = interact $ \text -> show (sum (map read (tail (lines text)) :: [Integer])) ++ "\n"
