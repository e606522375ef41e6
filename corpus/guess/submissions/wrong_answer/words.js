console.log("five hundred");
