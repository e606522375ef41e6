console.log(nubmer);
