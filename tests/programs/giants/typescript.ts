console.log(new ArrayBuffer(2 ** 40).byteLength);
