let twice n = Zeta.times n 2
