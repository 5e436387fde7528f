//! A file without rows is refused in the words of the specification; a hostile file does no harm.

use super::*;

const LIMIT: usize = 10_485_760;

async fn refused(t: &Test, who: &Persona, family: &str, file: impl AsRef<[u8]>, text: &str) {
    let reply = upload(t, who, family, file).await.expect_message(400, text);
    assert_eq!(reply.data(), json!({"type": "validation_error", "errors": []}));
}

api_test!(templates_import_themselves, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    // Users come first: the other templates create organizations with the names of the users' companies.
    for family in ["users", "distributors", "resellers", "customers"] {
        let reply =
            t.get(&format!("/api/{family}/import/template")).bearer(&owner.token).send().await.expect(200);
        assert_eq!(reply.header("content-type"), Some("text/csv"));
        let disposition = format!("attachment; filename=\"{family}_import_template.csv\"");
        assert_eq!(reply.header("content-disposition"), Some(disposition.as_str()));
        let header = if family == "users" { USER_HEADER } else { ORGANIZATION_HEADER };
        assert_eq!(reply.text().lines().next(), Some(header));
        if family == "users" {
            for name in ["Example One Srl", "Example Two Ltd"] {
                let body = json!({"name": name, "custom_data": {"vat": name}});
                post(&t, &owner, "/api/resellers", body).await;
            }
        }
        let preview = upload(&t, &owner, family, &reply.body).await.expect(200).data();
        assert_eq!(row_issues(&preview), ["valid:", "valid:"]);
        assert_eq!(outcomes(&confirmed(&t, &owner, family, &preview, false).await), ["created", "created"]);
    }
    assert_ne!(tree.owner, tree.distributor);
});

api_test!(structural_errors, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    assert_ne!(tree.owner, tree.customer);
    for family in ["distributors", "resellers", "customers", "users"] {
        let header = if family == "users" { USER_HEADER } else { ORGANIZATION_HEADER };
        let expected = header.replace(',', ", ");
        refused(&t, &owner, family, "", "file is empty").await;
        refused(&t, &owner, family, "\u{feff}\n", "file is empty").await;
        let only = "file contains only headers, no data rows";
        refused(&t, &owner, family, format!("{header}\n"), only).await;
        let cells = format!("x{}", ",".repeat(header.matches(',').count()));
        let many = format!("{header}\n{}", format!("{cells}\n").repeat(1001));
        refused(&t, &owner, family, many, "too many rows (1001). maximum allowed: 1000").await;
        let (first, rest) = header.split_once(',').unwrap();
        let wrong = format!("invalid CSV headers: missing columns: {first}. expected: {expected}");
        refused(&t, &owner, family, format!("{rest}\nx{}", &cells[2..]), &wrong).await;
        let wrong = format!("invalid CSV headers: unexpected columns: createdby, vat. expected: {expected}");
        refused(&t, &owner, family, format!("createdBy,{header}, VAT \n{cells},,"), &wrong).await;
        let wrong = format!(
            "invalid CSV headers: missing columns: {first}; unexpected columns: x. expected: {expected}"
        );
        refused(&t, &owner, family, format!("x,{rest}\n{cells}"), &wrong).await;
        let count = cells.len();
        let wrong = format!("invalid CSV format: line 2 has {} cells instead of {count}", count + 1);
        refused(&t, &owner, family, format!("{header}\n{cells},"), &wrong).await;
        let wrong = "invalid CSV format: the quoted cell that begins on line 2 does not end";
        refused(&t, &owner, family, format!("{header}\n{cells}\"a\n{cells}\n"), wrong).await;
        let path = format!("/api/{family}/import/validate");
        let missing = "file parameter required";
        let kind = "multipart/form-data; boundary=\"=_b\"";
        for (kind, body) in [
            (kind, form("data", b"x")),
            (kind, b"--=_b--\r\n".to_vec()),
            (kind, b"nothing".to_vec()),
            (kind, form("file", b"cut")[..100].to_vec()),
            ("multipart/form-data", form("file", b"x")),
            ("application/json", b"{}".to_vec()),
        ] {
            let call = t.post(&path).bearer(&owner.token).header("content-type", kind).body(body);
            call.send().await.expect_message(400, missing);
        }
        t.post(&path).bearer(&owner.token).send().await.expect_message(400, missing);
    }
    let sessions = Q::new("SELECT COUNT(*) FROM import_sessions").count(&t.app.platform.db).await.unwrap();
    assert_eq!(sessions, 0, "a refused file is not kept");
});

api_test!(a_file_of_ten_mebibytes_is_read_and_one_byte_more_is_not, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let start = format!("{ORGANIZATION_HEADER}\nx,,1,,,,,,,");
    let fits = format!("{start}{}", "n".repeat(LIMIT - start.len()));
    let preview = upload(&t, &d, "customers", &fits).await.expect(200).data();
    // The answer holds the whole text of the cell, however long: the file is the limit.
    let issue = &preview["rows"][0]["errors"][0];
    assert_eq!((&issue["field"], &issue["message"]), (&json!("notes"), &json!("too_long")));
    assert!(issue["values"] == json!([preview["rows"][0]["data"]["notes"]]));
    let made = confirmed(&t, &d, "customers", &preview, true).await;
    assert_eq!(outcomes(&made), ["skipped error"]);
    for more in [1, 5000] {
        let size = LIMIT + more;
        let text = format!("file too large ({size} bytes). maximum allowed: 10485760 bytes");
        let reply = upload(&t, &d, "customers", format!("{fits}{}", "n".repeat(more))).await;
        assert_eq!(reply.expect_message(413, &text).data(), Value::Null);
    }
});

api_test!(hostile_files, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    for file in [
        ",".repeat(1 << 20),
        "\"".repeat(1 << 20),
        "\n,".repeat(1 << 19),
        "\0".repeat(1 << 20),
        format!("{ORGANIZATION_HEADER}\n{}", ",".repeat(1 << 20)),
        format!("{ORGANIZATION_HEADER}\n{}", "\"\",".repeat(1 << 18)),
        format!("{ORGANIZATION_HEADER}{}\nx", ",name".repeat(1 << 16)),
    ] {
        let reply = upload(&t, &d, "customers", &file).await.expect(400);
        assert!(reply.body.len() < 2000, "{} bytes", reply.body.len());
        let what = reply.message();
        let messages = ["file contains only headers", "too many rows (", "invalid CSV "];
        assert!(messages.iter().any(|start| what.starts_with(start)), "{what}");
    }
    // A thousand broken rows are a thousand answers.
    let file = format!("{ORGANIZATION_HEADER}\n{}", "\0,\0,\0,\0,\0,\0,\0,\0,\0,\0\n".repeat(1000));
    let preview = upload(&t, &d, "customers", file).await.expect(200).data();
    assert_eq!((&preview["total_rows"], &preview["error_rows"]), (&json!(1000), &json!(1000)));
    let all: Vec<String> =
        ORGANIZATION_HEADER.split(',').map(|column| format!("{column} invalid_format [\0]")).collect();
    assert_eq!(row_issues(&preview)[999], format!("error: {}", all.join("; ")));
    assert_eq!(confirmed(&t, &d, "customers", &preview, true).await["skipped"], 1000);
    let file = format!("{USER_HEADER}\n\0,\0,\0,\0,\0\na\0@b,n,,c\0,\0;Admin\n");
    let preview = upload(&t, &d, "users", file).await.expect(200).data();
    let all = "error: email invalid_format [\0]; name invalid_format [\0]; phone invalid_format [\0]; \
               company_name invalid_format [\0]; roles unknown [\0]";
    assert_eq!(row_issues(&preview)[0], all);
    assert_eq!(
        row_issues(&preview)[1],
        "error: email invalid_format [a\0@b]; company_name invalid_format [c\0]; roles unknown [\0]"
    );
});

api_test!(cells_are_kept_as_they_are, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let file = format!(
        "\u{feff}NOTES , {}\r\n\
         \"two\r\nlines\",=1+1,@SUM(A1),V 1,+39,-1,La \"Bottega\" srl,a@x.example,+39 011 5550100,en\r\n",
        ORGANIZATION_HEADER.trim_end_matches(",notes")
    );
    let preview = upload(&t, &d, "customers", file).await.expect(200).data();
    assert_eq!(row_issues(&preview), ["valid:"]);
    let made = confirmed(&t, &d, "customers", &preview, false).await;
    let path = format!("/api/customers/{}", made["results"][0]["id"].as_str().unwrap());
    let stored = get(&t, &d, &path).await;
    assert_eq!((&stored["name"], &stored["description"]), (&json!("=1+1"), &json!("@SUM(A1)")));
    let data = &stored["custom_data"];
    let expected = json!({"vat": "V 1", "address": "+39", "city": "-1", "main_contact": "La \"Bottega\" srl",
        "email": "a@x.example", "phone": "+39 011 5550100", "language": "en", "notes": "two\r\nlines"});
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&data[key], value, "{key}");
    }
    // Bytes that are no UTF-8 are Windows-1252.
    let mut file = format!("{ORGANIZATION_HEADER}\n").into_bytes();
    file.extend_from_slice(b"Caff\xe8 Perch\xe9,,V2,,,,,,,\n");
    let preview = upload(&t, &d, "customers", file).await.expect(200).data();
    assert_eq!(preview["rows"][0]["data"]["company_name"], "Caffè Perché");
});
