// @EXPECTED_RESULTS@: COMPILER-ERROR
import { readFileSync } from "fs;
