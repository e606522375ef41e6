console.log("two four one three");
