const n: number = 13;
if (n > 12) throw new Error("unlucky");
