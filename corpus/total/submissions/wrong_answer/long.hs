main :: IO ()
main = getContents >>= print . length
