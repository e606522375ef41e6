-- @EXPECTED_RESULTS@: COMPILER-ERROR
main :: IO ()
main = putStrLn 6
