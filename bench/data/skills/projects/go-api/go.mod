module example.org/go-api

go 1.23
