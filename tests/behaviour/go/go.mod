module modes

go 1.19
