terraform {
  required_version = ">= 1.8"
}

resource "aws_db_instance" "main" {
  instance_class    = "db.t4g.medium"
  allocated_storage = 100
}
